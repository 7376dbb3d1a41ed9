/**
 * Settings: the global configuration, and those of folders and jobs.
 *
 * <p>Every package above may use it; it uses {@code priority} and {@code hand}. Jenkins saves names of classes and fields,
 * and Configuration as Code uses them: do not rename them. Setters check their range and save; values may be read from any
 * thread, under the queue's lock too. Tests beside it.
 */
package io.jenkins.plugins.preemptible.config;
