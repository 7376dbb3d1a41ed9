/** Artifacts in a real S3 server, for tests: the server, and an artifact manager that knows it by presigned addresses. */
package io.jenkins.plugins.preemptible.acceptance.store;
