"""The arms of the comparison: ways to use clicks, each with held-out scores after several numbers of clicks."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from semblance.core.metrics.relevance_feedback.quadratic_form import FeedbackForm
from semblance.core.searches.feedback.judgements import Judgement, JudgementKind
from semblance.core.searches.feedback.questions import (
    LikenessModel,
    QuestionRows,
    answer_judgements,
    choose_question,
    draw_query,
    nearer,
    nearness_sample,
)
from semblance.core.searches.feedback.relevance_feedback import learn_form
from tests.benchmarks.clicks.tables import SplitTable
from tests.benchmarks.clicks.users import SimulatedUser

CLICK_COUNTS = (0, 5, 10, 20, 40, 80)
#: The metric is learnt after each of the first clicks, then after every fifth.
_LEARN_EACH_UNTIL, _LEARN_EVERY = 5, 5
PAGE = 20
_MARGIN_POOL = 200
#: Rocchio's weights of positive and negative examples (Salton and Buckley 1990).
_LIKED_WEIGHT, _DISLIKED_WEIGHT = 0.75, 0.15

#: The judgements of each click.
_Clicks = Iterator[list[Judgement]]


class FeedbackLearner:
    def __init__(self, split_table: SplitTable) -> None:
        self.Z = split_table.train.Z
        self.judgements: list[Judgement] = []
        self.initial_weights = split_table.initial_weights
        self.form = self.start()

    def start(self) -> FeedbackForm:
        """The metric before any click."""
        return FeedbackForm.start(self.Z.shape[1], self.initial_weights)

    def learn(self) -> None:
        m = self.Z.shape[1]
        self.form = learn_form(
            self.judgements, lambda key: self.Z[int(key)], m, initial_weights=self.initial_weights
        )


def scores_after_clicks(
    arm: Callable[[FeedbackLearner, SimulatedUser, np.random.Generator], _Clicks],
) -> Callable[..., list[float]]:
    """The score of an arm after each number of clicks in MARKS."""

    def scores(split_table: SplitTable, wrong: float, seed: int) -> list[float]:
        learner, user = FeedbackLearner(split_table), SimulatedUser(split_table.train.y, wrong, seed)
        clicks = arm(learner, user, np.random.default_rng([seed, 2]))
        out = [split_table.accuracy(learner.form)]
        for number in range(1, CLICK_COUNTS[-1] + 1):
            learner.judgements += next(clicks)
            if number in CLICK_COUNTS or number <= _LEARN_EACH_UNTIL or number % _LEARN_EVERY == 0:
                learner.learn()
            if number in CLICK_COUNTS:
                out.append(split_table.accuracy(learner.form))
        return out

    return scores


def ask_me_next(learner: FeedbackLearner, user: SimulatedUser, rng: np.random.Generator) -> _Clicks:
    """The questions of *Ask me next*."""
    everyone = np.ones(len(learner.Z), dtype=np.bool_)
    start, sample = learner.start(), nearness_sample(learner.Z)
    queries: list[int] = []
    shares: list[float] = []
    is_similar: list[bool] = []
    likeness = LikenessModel()
    while True:
        query = draw_query(queries, rng, everyone)
        assert query is not None
        queries.append(query)
        judged: list[int] = []
        query_shares = nearer(learner.Z, learner.Z[query], sample, start)
        while not likeness.should_change_query(len(judged) // 2):
            question = choose_question(learner.Z, learner.form, query, likeness, judged, rng)
            if question is None:
                break
            judgements = _judgements_of_answer(user, question)
            judged += [question.first, question.second]
            shares += query_shares[[question.first, question.second]].tolist()
            is_similar += [judgement.kind == JudgementKind.ALIKE for judgement in judgements]
            likeness = LikenessModel.of(np.array(shares), is_similar)
            yield judgements


def page_feedback(learner: FeedbackLearner, user: SimulatedUser, rng: np.random.Generator) -> _Clicks:
    """More or less like this on the first 20 cases of random queries, in random order."""
    while True:
        query = int(rng.integers(len(learner.Z)))
        squared = learner.form.squared(learner.Z - learner.Z[query])
        squared[query] = np.inf
        page = np.argsort(squared, kind="stable")[:PAGE].tolist()
        for case in rng.permutation(page).tolist():
            kind = JudgementKind.ALIKE if user.is_similar(query, case) else JudgementKind.NOT_ALIKE
            yield [Judgement(kind, str(query), str(case), shown=tuple(map(str, page)))]


def random_questions(learner: FeedbackLearner, user: SimulatedUser, rng: np.random.Generator) -> _Clicks:
    """Questions about three random cases."""
    while True:
        yield _judgements_of_answer(
            user, QuestionRows(*rng.choice(len(learner.Z), 3, replace=False).tolist())
        )


def smallest_margin(learner: FeedbackLearner, user: SimulatedUser, rng: np.random.Generator) -> _Clicks:
    """The question among 200 random ones whose two distances differ least."""
    while True:
        candidates = np.array([rng.choice(len(learner.Z), 3, replace=False) for _ in range(_MARGIN_POOL)])
        first, second = (
            learner.form.squared(learner.Z[candidates[:, side]] - learner.Z[candidates[:, 0]])
            for side in (1, 2)
        )
        yield _judgements_of_answer(
            user, QuestionRows(*candidates[np.argmin(np.abs(first - second))].tolist())
        )


def rocchio(split_table: SplitTable, wrong: float, seed: int) -> list[float]:
    """The same clicks as :func:`page_feedback` shift the query instead of the metric. A held-out query is shifted like
    the nearest judged one."""
    learner, user = FeedbackLearner(split_table), SimulatedUser(split_table.train.y, wrong, seed)
    clicks = page_feedback(learner, user, np.random.default_rng([seed, 2]))
    judged: dict[int, dict[JudgementKind, list[int]]] = {}
    Z, H = learner.form.embed(split_table.train.Z), learner.form.embed(split_table.test.Z)
    out = [split_table.test.accuracy(H)]
    for number in range(1, CLICK_COUNTS[-1] + 1):
        (judgement,) = next(clicks)
        cases_by_kind = judged.setdefault(
            int(judgement.query), {JudgementKind.ALIKE: [], JudgementKind.NOT_ALIKE: []}
        )
        cases_by_kind[judgement.kind].append(int(judgement.case))
        if number in CLICK_COUNTS:
            out.append(split_table.test.accuracy(H, _shifted_queries(Z, H, judged)))
    return out


def _shifted_queries(
    Z: np.ndarray, H: np.ndarray, judged: dict[int, dict[JudgementKind, list[int]]]
) -> np.ndarray:
    places = list(judged)
    shifts = []
    for query, judgements in judged.items():
        shift = np.zeros(Z.shape[1])
        for kind, weight in (
            (JudgementKind.ALIKE, _LIKED_WEIGHT),
            (JudgementKind.NOT_ALIKE, -_DISLIKED_WEIGHT),
        ):
            if judgements[kind]:
                shift += weight * (Z[judgements[kind]].mean(axis=0) - Z[query])
        shifts.append(shift)
    nearest = ((H[:, np.newaxis] - Z[places]) ** 2).sum(axis=2).argmin(axis=1)
    moved: np.ndarray = H + np.stack(shifts)[nearest]
    return moved


def _judgements_of_answer(user: SimulatedUser, question: QuestionRows) -> list[Judgement]:
    return answer_judgements(
        user.answer(question.query, question.first, question.second),
        str(question.query),
        str(question.first),
        str(question.second),
    )


ARMS: dict[str, Callable[..., list[float]]] = {
    "ask me next": scores_after_clicks(ask_me_next),
    "feedback in the top 20": scores_after_clicks(page_feedback),
    "random questions": scores_after_clicks(random_questions),
    "smallest margin": scores_after_clicks(smallest_margin),
    "Rocchio": rocchio,
}
