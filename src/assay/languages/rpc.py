"""Names in the code that gRPC compilers generate: server bases, clients, and how they spell an rpc, per language.

Generated code is mostly not in the repository, or skipped as generated: its names, and where they are imported from, are
all there is. Patterns match dotted names, as imports tell them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Generated:
    """Patterns of one language family. The group `service` of a pattern is the service's name."""

    server: str  # base types of implementations
    client: str  # types of clients
    # Modules of generated code. Without the .proto file, a name counts only if it comes from one of these; empty where
    # the name itself is conclusive.
    module: str = ""
    parameter: str = ""  # `name type` of a parameter that implementing methods have; used without the .proto file
    same_case: bool = False  # methods are written as the rpc is; else they begin with a small letter
    exact: bool = False  # and in no other way: `placeOrder` is another method than `PlaceOrder`
    helpers: str = r"$^"  # methods of clients that call no rpc
    suffix: str = ""  # variants of a client's method (C#'s `PlaceOrderAsync`)


_JVM = Generated(
    server=r"(?P<service>\w+?)(?:Coroutine)?ImplBase$",
    client=r"\b(?:Mutiny|Reactor|Rx3?)?(?P<service>\w+)Grpc(?:Kt)?\.(?:Mutiny|Reactor|Rx3?)?(?P=service)"
    r"(?:Blocking(?:V2)?|Future|Coroutine)?Stub$",
    parameter=r"StreamObserver|\b(?:Uni|Multi|Mono|Flux|Single|Flowable|Flow)\b|Request\b",
    helpers=r"with[A-Z]\w*|get(?:Channel|CallOptions)|build",
)

# by family of languages (`Language.kin`)
GENERATED: dict[str, Generated] = {
    "python": Generated(
        server=r"\b(?P<service>\w+?)(?:Servicer|Base)$",
        client=r"\b(?P<service>\w+?)(?:Async)?Stub$",
        module=r"_pb2|_grpc\b|grpc|proto",
        parameter=r"^_*(?:unused_)?(?:context|ctx)\b",
        same_case=True,
        helpers=r"__\w+__",
    ),
    "go": Generated(
        server=r"\b(?:Unimplemented|Unsafe)(?P<service>\w+)Server$",
        client=r"\b(?P<service>[A-Za-z0-9]+)Client$",  # one with an underscore is a stream of messages
        module=r"pb(?:/v\d+)?\.\w+$|proto|grpc|\bgen\b|rpc",
        parameter=r"\bcontext\.Context$|Server$|\bgrpc\.\w+Server\b",
        same_case=True,
        exact=True,
    ),
    "javascript": Generated(
        server=r"\bI?(?P<service>\w+?)(?:Server|Implementation|Controller)$",
        client=r"\b(?P<service>\w+?)(?:Promise)?Client$",
        module=r"_pb\b|_grpc\b|\bproto|\bgrpc|\bgen\b|\bgenerated\b|_connect\b",
        parameter=r"^_*(?:call|request|req)\b|Request\b|\bServer(?:Unary|Writable|Readable|Duplex)",
        helpers=r"close|waitForReady|getChannel|make\w+Request|constructor",
    ),
    "java": _JVM,
    "kotlin": _JVM,
    "csharp": Generated(
        server=r"\b(?P<service>\w+)\.(?P=service)Base$",
        client=r"\b(?!Http\.)(?P<service>\w+)\.(?P=service)Client$",  # System.Net.Http.HttpClient looks alike
        parameter=r"\bServerCallContext\b",
        same_case=True,
        exact=True,
        helpers=r"WithHost|Dispose",
        suffix="Async",
    ),
}

# Calls that register an implementation, or decorators that declare one, by the last name of the chain: Go's
# `pb.RegisterOrderServiceServer(server, impl)`, `addService` of @grpc/grpc-js, `add` of nice-grpc, `service` of
# connect-es, decorators of NestJS.
REGISTRATION = re.compile(r"Register(\w+)Server|addService|add|service|GrpcMethod|GrpcStreamMethod|GrpcStreamCall")
DECORATORS = frozenset({"GrpcMethod", "GrpcStreamMethod", "GrpcStreamCall"})
# the service that the first argument of such a call describes: its name follows the compiler's suffix
DESCRIPTIONS: dict[str, re.Pattern[str]] = {
    "addService": re.compile(r"\b(?P<service>\w+?)(?:\.service|Service|ServiceDefinition)?$"),
    "add": re.compile(r"\b(?P<service>\w+)Definition$"),
    "service": re.compile(r"^(?P<service>[A-Z]\w*)$"),
}
# a service of a package that is loaded when the program runs: `proto.shop.OrderService.service`
LOADED = re.compile(r"[\w.]+\.[A-Z]\w*\.service")

GO_CLIENT = re.compile(r"(?:New)?[A-Z]\w*Client")  # a client's type and the function that creates one
_CREATED = re.compile(
    r"(?P<go>.*\.)New(?P<client>\w+Client)|(?P<java>.*?(?P<service>\w+)Grpc)\.new(?P<stub>\w*Stub)|(?P<same>.*Stub)\.with[A-Z]\w*"
)


def created_client(function: str) -> str:
    """Return the type of the client that a function of a library creates; empty if it creates none."""
    match = _CREATED.fullmatch(function)
    if match is None:
        return ""
    if match["client"]:
        return f"{match['go']}{match['client']}"
    return match["same"] or f"{match['java']}.{match['service']}{match['stub']}"


def folded(name: str) -> str:
    """Return a method's name without the differences between `PlaceOrder`, `placeOrder` and `place_order`."""
    return name.replace("_", "").lower()


def rpc_name(method: str) -> str:
    """Return the usual spelling of an rpc's name: `PlaceOrder` for `placeOrder` and `place_order`."""
    return "".join(word[:1].upper() + word[1:] for word in method.split("_"))
