"""Metrics in the text format of Prometheus."""

from prometheus_client import CollectorRegistry, Counter, Gauge, generate_latest

from thrifty.service.server.writer import Writer

SHOWN = 12  # digits of a digest: a float holds them


def metrics_text(writer: Writer) -> str:
    """What the writer has done, and the experiments that this server leads."""
    registry, measured = CollectorRegistry(), writer.measured
    for name, text, key in (
        ("thrifty_groups", "Transactions", "groups"),
        ("thrifty_requests", "Requests that were carried out", "requests"),
        ("thrifty_requests_refused", "Requests with a mistake", "refused"),
        ("thrifty_group_seconds", "Seconds in transactions", "seconds"),
    ):
        Counter(name, text, registry=registry).inc(measured[key])
    labels = ["experiment"]
    pending = Gauge("thrifty_waiting", "Pending decisions", labels, registry=registry)
    made = Counter("thrifty_decisions", "Decisions", labels, registry=registry)
    rewarded = Counter("thrifty_rewards", "Rewards", labels, registry=registry)
    explored = Counter("thrifty_explored", "Decisions that explore", labels, registry=registry)
    head = "Last event in the log: the first 12 hexadecimal digits of its digest, as a number"
    seqs = Gauge("thrifty_log_events", "Number of the last event", labels, registry=registry)
    heads = Gauge("thrifty_log_head", head, labels, registry=registry)
    for name, loaded in list(writer.experiments.items()):
        experiment = loaded.experiment
        pending.labels(name).set(len(experiment.pending))
        made.labels(name).inc(experiment.counts["decisions"])
        rewarded.labels(name).inc(experiment.counts["rewards"])
        explored.labels(name).inc(experiment.counts["explored"])
        seq, digest = loaded.head
        seqs.labels(name).set(seq)
        heads.labels(name).set(int(digest[:SHOWN] or "0", 16))
    return generate_latest(registry).decode()
