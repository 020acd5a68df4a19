"""Descriptions of studies and series without what may identify a person.

People type names, dates and numbers into them. PS3.15 E.3.5 (clean descriptors) allows keeping the rest: here only
words of a fixed vocabulary, kernels and small measures are kept.
"""

from __future__ import annotations

import re

from semblance.core.imaging.dicom.identity import Identity


def _terms(text: str) -> frozenset[str]:
    return frozenset(text.split())


_BODY = _terms(
    "abd abdo abdomen abdominal adrenal ankle aorta aortic appendix arm arms arteries artery axilla "
    "becken biliary bladder bone bones bowel brain breast breasts bronchial brust bws calcaneus cardiac "
    "carotid cervical chest clavicle coccyx colon coronary cranial cranium ear elbow esophagus extremity "
    "eye face facial feet femoral femur fetal fibula finger foot forearm gallbladder gland hals hand "
    "hands head heart herz hip hips humerus hws iac iliac jaw joint kidney kidneys knee knees knochen "
    "kopf larynx leber leg legs liver lower lspine lumbar lumbosacral lung lunge lungs lws mandible "
    "mastoid maxilla mediastinum nasal neck nerve niere nieren nodule oesophagus orbit orbits ovary "
    "pancreas parotid patella pelvic pelvis pituitary plaque portal posterior prostate pulmonary rectum "
    "renal rib ribs sacrum scapula schädel scrotum shoulder sinus sinuses skull spine spleen sternum "
    "stomach temporal testis thigh thoracic thorax thumb thx thyroid tibia toe tooth trachea tract trunk "
    "upper ureter urinary uterus vascular vein venous vertebra vessel wirbelsäule wrist "
)
_DIRECTIONS = _terms(
    "ant anterior ap ax axial axiale bilateral cc cor coronal dorsal erect frontal inferior koronar l lao "
    "lat lateral left li links lmo lt medial midline ml mlo obl oblique pa prone r rao re rechts right rt "
    "sag sagittal sagittale seitlich superior supine tra trans transverse upright ventral view views xcc "
    "xccl "
)
_TECHNIQUE = _terms(
    "abdomenpelvis acq acquisition adc angio angiogram angiography art arterial asl b0 b30f b31f b40f "
    "b50f b70f b80f barium bh biopsy blade body bold bolus bravo breath breathhold bw bypass calcium cbf "
    "cbv ce cect cine ciss cm col collimation colonography colonoscopy con contrast cr ct cta ctp ctpa "
    "cube cxr delayed detail diag diagnostic diffusion digital dixon dose dual dwi dx dyn dynamic early "
    "ebenen ecg echo edge emergency enhanced enteric ep epi equilibrium excretory exp expiration fast fat "
    "fatsat fdg fiesta fil fisp fl flair flash flow fluoro follow followup fov free frfse fs fse full "
    "fusion gated gd gr grad gradient gre half hard haste helical high hires hr hrct image images imaging "
    "inhalation insp inspiration inversion iso iv kernel km kv late lava level limited loc localiser "
    "localizer localizers low magnification mammo mammogram mammography map mask mean medium mg mip mit "
    "mpr mprage mr mra mrcp mri mrv multi multiphase nach nativ native nc nce ncect nm non nonc noncon "
    "normal ohne opp oral pd perf perfusion pet phase phases plain plan planning plus post postcon postop "
    "pre precon preop prep prior propeller protocol pv qualitative radial radiograph ray recon "
    "reconstruction ref reformat relaxation res resolution rest rf routine run scan scanogram scout "
    "screening se sense series sharp short smooth soft space spair spc spgr spin spiral spot stack "
    "standard static std stir stress study sub subtraction survey swi t1 t1w t2 t2star t2w target tc te "
    "test tfe thick thin thins time tirm tissue tof tomo tomogram tomography tomosynthesis topogram tr "
    "trufi tse tumor tumour turbo ultrasound unenhanced uptake us vcug vibe vol volume vor w wb weighted "
    "whole window with without wo x xa xr xray"
)
_WORDS = _BODY | _DIRECTIONS | _TECHNIQUE
_TOKEN = re.compile(r"[^\W_]+(?:\.[0-9]+)*")
_DATE = re.compile(r"\d{1,4}[./-]\d{1,2}[./-]\d{1,4}")
_MEASURE = re.compile(r"\d(?:\.\d{1,2})?|\d{1,2}\.\d{1,2}|\d{1,3}(?:mm|cm|min|sec|s|ms|kv|hu)", re.IGNORECASE)
#: Such as B70f and I31s.
_KERNEL = re.compile(r"[BHIUTQ][a-z]?\d{2}[a-z]?", re.IGNORECASE)


def clean_description(typed: str, identity: Identity) -> str:
    """The words of ``typed`` that cannot identify anybody, separated by spaces; "" where there are none.

    A word of the vocabulary that is also a name or an id of ``identity`` is left out.
    """
    tokens = _TOKEN.findall(_DATE.sub(" ", typed))
    return " ".join(token for token in tokens if is_harmless(token) and not identity.is_word_of(token))


def is_harmless(token: str) -> bool:
    """Whether a word is of the vocabulary, a small measure or a kernel."""
    return token.casefold() in _WORDS or bool(_MEASURE.fullmatch(token) or _KERNEL.fullmatch(token))
