"""PACS: servers and their secrets, queries, retrieval, sending and receiving by DIMSE and DICOMweb.

No socket is opened by an import or by reading the settings, only by the functions that say so.
"""
