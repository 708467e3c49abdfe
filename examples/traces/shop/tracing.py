"""OpenTelemetry for a service: the exporter, and spans that name their function."""

import functools

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.instrumentation.flask import FlaskInstrumentor
from opentelemetry.instrumentation.requests import RequestsInstrumentor
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor


def start_tracing(app, service):
    """Export the spans of a service to OTEL_EXPORTER_OTLP_ENDPOINT."""
    provider = TracerProvider(resource=Resource.create({"service.name": service}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(), schedule_delay_millis=500))
    trace.set_tracer_provider(provider)
    FlaskInstrumentor().instrument_app(app)
    RequestsInstrumentor().instrument()
    return provider


def traced(function):
    """Give a function a span with its name, file and line."""
    code = function.__code__
    attributes = {
        "code.function.name": f"{function.__module__}.{function.__qualname__}",
        "code.file.path": code.co_filename,
        "code.line.number": code.co_firstlineno,
    }

    @functools.wraps(function)
    def with_span(*arguments, **options):
        with trace.get_tracer("shop").start_as_current_span(function.__name__, attributes=attributes):
            return function(*arguments, **options)

    return with_span
