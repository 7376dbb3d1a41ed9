/**
 * What an image is: manifest, key, host fingerprint, requests, limits, and the failures of reading one.
 *
 * <p>All packages may use it; it depends on nothing of stages and CRIU. Fields of the manifest are a file format: see
 * docs/image-format.md before changing one. Immutable, safe for any thread. Tests: {@code HostFingerprintTest},
 * {@code ImageKeyTest}; the rest is tested with archives in {@code image.archive}.
 */
package io.jenkins.plugins.preemptible.engine.image;
