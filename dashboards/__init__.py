"""The pages people look at: Streamlit over the lake.

Belongs here: what is shown and how. Everything shown is read through `lake` with the queries of `sql/`; the only thing
ever written is a review, as an event. Does not belong here: figures computed in Python, anything of `assets`.
No file here may be called like a package of ours (lake, sql, assets …): Streamlit puts this folder first on the path.
The scripts of the pages lie in `screens/`, not in `pages/`: a folder of that name makes Streamlit run a page by its
address without `app.py`, and so without the token gate.
"""
