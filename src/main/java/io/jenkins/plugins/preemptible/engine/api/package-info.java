/**
 * What callers of the engine see: ids, specifications, reports, and why something failed.
 *
 * <p>All packages may use it; it depends on no other package of the engine. All of it is immutable and safe for any
 * thread. Ids and failures cross the connection to agents, and names of constants stand in stage.json: rename neither.
 * Tested through the classes that answer with them.
 */
package io.jenkins.plugins.preemptible.engine.api;
