// Takes the pictures of the dashboard in packages/dashboard/pictures, on the app that the tests drive.
import { mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { missingForBrowser, openBrowser } from "../test/dashboard/stage/browser.ts";
import { askForReports, failingHandlers, passAnHour, play } from "../test/dashboard/stage/scene.ts";
import { startStage } from "../test/dashboard/stage/stage.ts";

const root = fileURLToPath(new URL("../", import.meta.url));
const folder = fileURLToPath(new URL("../packages/dashboard/pictures/", import.meta.url));
const missing = missingForBrowser();
if (missing !== null) throw new Error(missing);
mkdirSync(folder, { recursive: true });

const stage = await startStage({ handlers: failingHandlers });
const browser = await openBrowser();
try {
  await passAnHour(stage);
  await play(stage);
  const { overdue } = await askForReports(stage);
  const [stuck] = await stage.receiver.inbox.list({ state: "dead", newestFirst: true });
  const screens = {
    overview: "",
    deliveries: "?show=deliveries",
    delivery: `?delivery=${stuck?.id}`,
    reports: "?show=reports",
    report: `?request=${overdue}`,
  };
  const looks = [
    { name: "light", colorScheme: "light", width: 1_280 },
    { name: "dark", colorScheme: "dark", width: 1_280 },
    { name: "narrow", colorScheme: "light", width: 390 },
  ] as const;
  for (const { name, colorScheme, width } of looks) {
    const context = await browser.newContext({ colorScheme, viewport: { width, height: 860 } });
    for (const [screen, query] of Object.entries(screens)) {
      const page = await context.newPage();
      await page.goto(stage.url + query);
      await page.getByText("Live", { exact: true }).waitFor();
      // Stacks name the folders of this machine.
      await page.evaluate(
        `for (const { firstChild } of document.querySelectorAll(".error bdi")) firstChild.data = firstChild.data.replaceAll(${JSON.stringify(root)}, "/app/")`,
      );
      const path = `${folder}${screen}-${name}.png`;
      await page.screenshot({ path, fullPage: screen !== "deliveries" });
      process.stdout.write(`${path}\n`);
      await page.close();
    }
    await context.close();
  }
} finally {
  await browser.close();
  await stage.close();
}
