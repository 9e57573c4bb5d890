// Preloaded into OpenClaw by `--import`: carries 127.0.0.1:$CLAWGYM_BRIDGE_PORT to the model proxy's unix socket, the
// one way out of the sandbox. It runs in OpenClaw's main thread only and keeps no process alive by itself.
import { connect, createServer } from "node:net";
import { isMainThread } from "node:worker_threads";

const socketPath = process.env.CLAWGYM_BRIDGE_SOCKET;
const port = Number(process.env.CLAWGYM_BRIDGE_PORT);

if (isMainThread && socketPath && port) {
  const server = createServer({ allowHalfOpen: true }, (inner) => {
    const outer = connect({ path: socketPath, allowHalfOpen: true });
    const end = () => {
      inner.destroy();
      outer.destroy();
    };
    inner.on("error", end).on("close", end);
    outer.on("error", end).on("close", end);
    inner.pipe(outer);
    outer.pipe(inner);
  });
  // A child that inherits the preload finds the port taken; it needs no bridge of its own.
  server.on("error", () => {});
  server.listen(port, "127.0.0.1");
  server.unref();
}
