/**
 * What lies in a stage's folder: its record, its lock, its own /tmp, and how a command enters it.
 *
 * <p>Used by all that works with stages; it decides nothing. stage.json is read by later versions: fields keep their
 * names. {@code StageFolder} is safe for any thread and process, {@code EnterCommand} crosses the connection to the
 * controller. Tests beside it without rights; {@code EarlierVersionTest} reads records of earlier versions.
 */
package io.jenkins.plugins.preemptible.engine.stage;
