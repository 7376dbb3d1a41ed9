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

    /** The lines of a table from one that begins so on. */
    private static List<String> table(List<String> section, String begin) {
        return section.stream()
                .dropWhile(line -> !line.startsWith(begin))
                .takeWhile(line -> line.startsWith("|"))
                .toList();
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
        again.addAll(List.of(
                "stock-system: classes TierTest trial.LeftTrialTest OddMountTest",
                "stock-system: failed TierTest > old(): gone",
                "stock-system: class TierTest: 0 passed, 1 failed, 0 skipped, all in 9 s",
                "stock-system: classes TierTest trial.LeftTrialTest OddMountTest",
                "stock-system: failed TierTest > never(): this run was cut off before its class ended",
                "stock-system: classes TierTest trial.LeftTrialTest OddMountTest",
                "stock-system: skipped TierTest > b(int)[1]: no a|b",
                "stock-system: skipped TierTest > b(int)[2]: no a|b\r",
                "stock-system: class TierTest: 5 passed, 0 failed, 2 skipped, all in 90 s\r",
                "stock-system: cut off trial.LeftTrialTest > c(): see its log",
                "stock-system: failed trial.LeftTrialTest > d(): expected: <1> but was: <2>",
                "stock-system: class trial.LeftTrialTest: 1 passed, 1 failed, 0 skipped, cut off in 1200 s",
                "stock-system: step demo: ok, 9 s",
                "stock-system: step tests: FAILED (1), 900 s"));
        List<String> second = StockSystems.section(page(first), again, "2026-11-25");
        assertEquals(
                List.of("| Debian GNU/Linux 12 (bookworm) | 6.1.0-50-cloud-amd64 | 3.17.1 | v2 | 2026-11-25"
                        + " | ok | – | ok | – | – | 6 passed, 1 failed, 2 skipped; 2 of 3 classes |"),
                rows(second).subList(0, 1));
        assertEquals(
                List.of(
                        "| class | Debian 12, CRIU 3.17.1 |",
                        "| --- | --- |",
                        "| TierTest | 5 passed, 2 skipped |",
                        "| trial.LeftTrialTest | **1 failed**, 1 passed, cut off |",
                        "| OddMountTest | not run |"),
                table(second, "| class"));
        assertEquals(
                List.of(
                        "| system | tests | ended | reason |",
                        "| --- | --- | --- | --- |",
                        "| Debian 12, CRIU 3.17.1 | TierTest: 2 tests | skipped | no a/b |",
                        "| Debian 12, CRIU 3.17.1 | trial.LeftTrialTest: c() | cut off | see its log |",
                        "| Debian 12, CRIU 3.17.1 | trial.LeftTrialTest: d() | failed | expected: &lt;1> but was: &lt;2> |"),
                table(second, "| system | tests"));
        List<String> earlier = new ArrayList<>(second);
        earlier.replaceAll(line -> line.replace("| last run |", "| tried |"));
        assertEquals(
                second,
                StockSystems.section(page(earlier), GUEST.subList(0, 3), "2026-11-25"),
                "a page whose table had another head");
        assertEquals(
                second, StockSystems.section(page(second), GUEST.subList(0, 3), "2026-11-25"), "a run without tests");
    }

    @Test
    void keepsClassesThatARunLeftOut() {
        List<String> told = new ArrayList<>(GUEST.subList(0, 3));
        told.addAll(List.of(
                "stock-system: classes TierTest OddMountTest GoneTest",
                "stock-system: failed TierTest > a(): no",
                "stock-system: class TierTest: 4 passed, 1 failed, 0 skipped, all in 90 s",
                "stock-system: skipped OddMountTest > b(): /var/tmp/preemptible test 4/work/a.py is old",
                "stock-system: class OddMountTest: 0 passed, 0 failed, 1 skipped, all in 90 s",
                "stock-system: class GoneTest: 7 passed, 0 failed, 0 skipped, all in 90 s"));
        List<String> first = StockSystems.section(page(List.of()), told, "2026-11-25");
        List<String> again = new ArrayList<>(GUEST.subList(0, 3));
        again.addAll(List.of(
                "stock-system: classes OddMountTest TierTest EnterTest",
                "stock-system: class OddMountTest: 1 passed, 0 failed, 0 skipped, all in 90 s"));
        List<String> second = StockSystems.section(page(first), again, "2026-11-26");
        assertEquals(
                List.of(
                        "| class | Debian 12, CRIU 3.17.1 |",
                        "| --- | --- |",
                        "| OddMountTest | 1 passed |",
                        "| TierTest | **1 failed**, 4 passed |",
                        "| EnterTest | not run |"),
                table(second, "| class"));
        assertEquals(
                List.of("| Debian 12, CRIU 3.17.1 | TierTest: a() | failed | no |"), table(second, "| Debian 12,"));
        assertTrue(first.contains("| Debian 12, CRIU 3.17.1 | OddMountTest: b() | skipped | …/work/a.py is old |"));
        assertEquals(
                List.of("| Debian GNU/Linux 12 (bookworm) | 6.1.0-50-cloud-amd64 | 3.17.1 | v2 | 2026-11-26"
                        + " | – | – | – | – | – | 5 passed, 1 failed, 0 skipped; 2 of 3 classes |"),
                rows(second).subList(0, 1));
    }

    @Test
    void eachSystemHasAColumn() {
        List<String> told = new ArrayList<>(GUEST.subList(0, 3));
        told.addAll(List.of(
                "stock-system: classes TierTest OddMountTest",
                "stock-system: class TierTest: 5 passed, 0 failed, 0 skipped, all in 90 s",
                "stock-system: skipped OddMountTest > a(): old",
                "stock-system: class OddMountTest: 0 passed, 0 failed, 1 skipped, all in 90 s"));
        List<String> first = StockSystems.section(page(List.of()), told, "2026-11-25");
        told.set(1, "stock-system: criu Version: 4.2.1 at /usr/local/sbin/criu; Looks good.");
        told.set(3, "stock-system: classes EnterTest TierTest OddMountTest");
        told.subList(5, 7).clear();
        List<String> both = StockSystems.section(page(first), told, "2026-11-26");
        assertEquals(
                List.of(
                        "| class | Debian 12, CRIU 3.17.1 | Debian 12, CRIU 4.2.1 |",
                        "| --- | --- | --- |",
                        "| EnterTest | – | not run |",
                        "| TierTest | 5 passed | 5 passed |",
                        "| OddMountTest | 1 skipped | not run |"),
                table(both, "| class"));
        assertEquals(
                List.of("| Debian 12, CRIU 3.17.1 | OddMountTest: a() | skipped | old |"), table(both, "| Debian 12"));
    }

    @Test
    void anotherCriuHasARowOfItsOwn() {
        List<String> first = StockSystems.section(page(List.of()), GUEST, "2026-11-24");
        List<String> again = new ArrayList<>(GUEST);
        again.set(1, "stock-system: criu Version: 4.2.1 at /usr/local/sbin/criu; Looks good.");
        assertEquals(
                2, rows(StockSystems.section(page(first), again, "2026-11-25")).size());
    }
}
