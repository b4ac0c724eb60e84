"""Which topics of a bag are those of the flight, whatever names and namespace they were recorded under."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

TOPICS = "topics"
"""Custom data of a bag whose topics have other names than ours."""

LABORATORY = "laboratory"
"""Before the names of what the stand-in laboratory knows and real halls do not."""


@dataclass(frozen=True)
class OwnTopics:
    """Names of topics in a bag.

    Attributes:
        namespace: of the nodes, such as ``/lab2``; empty: the root.
        names: ours, such as ``quad1/odom``, by those of the bag; empty: they differ by the namespace alone.
    """

    namespace: str = ""
    names: Mapping[str, str] = field(default_factory=dict)

    def name_of(self, topic: str) -> str:
        """Our name of a topic; empty: it is somebody else's."""
        if self.names:
            return self.names.get(topic, "")
        inside = topic.startswith(f"{self.namespace}/")
        return topic[len(self.namespace) + 1 :] if inside else ""

    def kind_of(self, topic: str) -> str:
        """Last word of our name of a topic."""
        return self.name_of(topic).rpartition("/")[2]

    def has_node(self, name: str) -> bool:
        """True if a node of this full name, such as ``/lab2/simulator``, flew with these topics."""
        return name.startswith("/") and name.rpartition("/")[0] == self.namespace

    def text(self) -> str:
        """As custom data; empty where nothing has to be said."""
        if not self.names:
            return ""
        return json.dumps({"namespace": self.namespace, "names": dict(self.names)})

    @classmethod
    def of_text(cls, text: str) -> OwnTopics:
        """From :meth:`text`.

        Raises:
            ValueError, TypeError, KeyError: it is another text.
        """
        told = json.loads(text)
        return cls(str(told["namespace"]), dict(told["names"]))

    @classmethod
    def of_names(cls, namespace: str, names: Mapping[str, str]) -> OwnTopics:
        """From our names and those of the graph."""
        namespace = namespace.rstrip("/")
        same = all(theirs in (f"/{ours}", ours) for ours, theirs in names.items())
        return cls(namespace, {} if same else {theirs: ours for ours, theirs in names.items()})
