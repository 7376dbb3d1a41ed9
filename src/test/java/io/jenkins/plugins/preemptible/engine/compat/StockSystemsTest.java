package io.jenkins.plugins.preemptible.engine.compat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jenkins.plugins.preemptible.engine.cli.simulate.MarkedSection;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class StockSystemsTest {

    private static final List<String> GUEST = List.of(
            "stock-system: Linux 6.1.0-50-cloud-amd64, Debian GNU/Linux 12 (bookworm), openjdk version \"17.0.19\" 2026-04-21",
            "stock-system: criu Version: 3.17.1 at /usr/sbin/criu; Looks good.",
            "stock-system: cgroups cgroup2fs, 2 processors, PREEMPTIBLE_TIME_FACTOR=20",
            "ok       linux          Linux",
            "stock-system: step check: ok, 20 s\r",
            "stock-system: step demo: FAILED (1), 9 s");

    private static List<String> page(List<String> section) {
        List<String> page = new ArrayList<>(List.of("# Page", MarkedSection.begin(StockSystems.SECTION)));
        page.addAll(section);
        page.add(MarkedSection.end(StockSystems.SECTION));
        return page;
    }

    private static List<String> rows(List<String> section) {
        return section.stream().filter(line -> line.startsWith("| Debian")).toList();
    }

    @Test
    void tellsWhatTheGuestTried() {
        assertEquals(
                List.of("| Debian GNU/Linux 12 (bookworm) | 6.1.0-50-cloud-amd64 | 3.17.1 | v2 | 2026-11-24"
                        + " | ok | – | **failed** | – | – | – |"),
                rows(StockSystems.section(page(List.of()), GUEST, "2026-11-24")));
    }

    @Test
    void keepsWhatARunDidNotTry() {
        List<String> first = StockSystems.section(page(List.of()), GUEST, "2026-11-24");
        List<String> again = new ArrayList<>(GUEST.subList(0, 3));
        again.add("JUnit Jupiter > TierTest > a() :: STARTED");
        again.add("JUnit Jupiter > TierTest > a() :: SUCCESSFUL\r");
        again.add("JUnit Jupiter > TierTest > b(int) > [1] x :: FAILED");
        again.add("JUnit Jupiter > TierTest > c() :: ABORTED");
        again.add("stock-system: step demo: ok, 9 s");
        again.add("stock-system: step tests: FAILED (1), 900 s");
        List<String> second = StockSystems.section(page(first), again, "2026-11-25");
        assertEquals(
                List.of("| Debian GNU/Linux 12 (bookworm) | 6.1.0-50-cloud-amd64 | 3.17.1 | v2 | 2026-11-25"
                        + " | ok | – | ok | – | – | 1 passed, 1 failed, 1 skipped |"),
                rows(second));
        again.removeIf(line -> line.contains("step tests"));
        List<String> cutOff = rows(StockSystems.section(page(first), again, "2026-11-25"));
        assertTrue(cutOff.get(0).endsWith("| 1 passed, 1 failed, 1 skipped; cut off |"), cutOff.get(0));
        again.set(1, "stock-system: criu Version: 4.2.1 at /usr/local/sbin/criu; Looks good.");
        assertEquals(
                2,
                rows(StockSystems.section(page(second), again, "2026-11-25")).size(),
                "another CRIU has a row of its own");
    }
}
