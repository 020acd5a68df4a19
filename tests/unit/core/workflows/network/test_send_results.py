from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from semblance.core.errors import BadInput
from semblance.core.network.servers import find_server
from semblance.core.reports.options import ReportOptions
from semblance.core.searches.query import Query
from semblance.core.searches.search import Search
from semblance.core.workflows.network.send_results import send_report
from tests.helpers.mammogram_library import METRIC, mammogram_library


def test_a_report_of_an_image_of_no_study_is_not_sent_into_any_record(tmp_path):
    Image.fromarray(np.arange(2304, dtype=np.uint8).reshape(48, 48)).save(tmp_path / "one.png")
    search = Search(METRIC, Query(image=tmp_path / "one.png"))
    # Nothing listens there: it is refused before.
    server = find_server("PACS@127.0.0.1:9")
    with pytest.raises(BadInput, match="no DICOM study"):
        send_report(server, mammogram_library(tmp_path), search, ReportOptions(identified=True, dicom="all"))
