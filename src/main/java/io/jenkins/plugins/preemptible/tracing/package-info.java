/**
 * Spans for OpenTelemetry: where the time of a suspension and of a resume went, beside the spans of everything else.
 *
 * <p>Loaded only where the plugin OpenTelemetry API is installed. Nothing else of this plugin may use this package.
 */
package io.jenkins.plugins.preemptible.tracing;
