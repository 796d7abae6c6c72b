// Looks at every view of a live page: what it says, for whom it can be read, and that it asks nobody else.
//
//   node tests/views.mjs URL KIND [FOLDER]
//
// KIND is group, send or recv. Pictures go to FOLDER. Fails with a line for each thing that is wrong.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { open, start, tell, wrong } from './browser.mjs';

const [url, kind, folder] = process.argv.slice(2);
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const expected = {
  group: ['overview', 'alerts', 'topology', 'map', 'nodes', 'hearing', 'groups', 'links', 'paths', 'chart', 'unseen'],
  send: ['alerts', 'chart', 'receivers', 'warnings'],
  recv: ['alerts', 'chart', 'files', 'warnings'],
}[kind];
// What each view of the test's document has to say. Names that came by the network are text, whatever is in them.
const words = {
  group: {
    overview: '11 nodes up, 1 silent',
    alerts: 'node-3 loses much',
    topology: '12 nodes',
    map: 'it says nothing of 2',
    nodes: '<b>node-12</b>',
    hearing: 'node-7',
    groups: 'node-5 (0 of 7)',
    links: 'at most 850 kbit/s',
    paths: '10.0.0.1',
  },
  send: { alerts: 'pc-07 is a slow machine', receivers: '<img src=x onerror=alert(1)>' },
  recv: { alerts: 'the disk here is full', files: 'image.1' },
}[kind];

const browser = await start();
const shot = (page, name) =>
  folder ? page.screenshot({ path: `${folder}/${kind}-${name}.png` }) : Promise.resolve();

/** Everything that axe finds serious. */
async function accessible(page, where) {
  await page.evaluate(axe);
  const found = await page.evaluate(() =>
    window.axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] }),
  );
  for (const one of found.violations) {
    const nodes = one.nodes.map((node) => `${node.target.join(' ')} (${node.failureSummary})`);
    wrong.push(`${where}: ${one.id} (${one.impact}): ${nodes.slice(0, 3).join('; ')}`);
  }
  return found.passes.length;
}

async function views(page) {
  for (const id of expected) {
    const section = page.locator(`section:has(> h2#${id}), section:has(> .bar > h2#${id}), section#${id}`);
    if ((await section.count()) !== 1) {
      wrong.push(`there is no view '${id}'`);
      continue;
    }
    const word = words[id];
    if (word && !(await section.innerText()).includes(word)) wrong.push(`'${id}' does not say '${word}'`);
  }
}

/** By keyboard alone: every control is reached, and shows that it has the focus. */
async function byKeyboard(page) {
  const controls = await page.evaluate(
    () => document.querySelectorAll('a[href], button:not(:disabled), input, select, summary, [tabindex="0"]').length,
  );
  const reached = new Set();
  for (let press = 0; press < controls + 5; press += 1) {
    await page.keyboard.press('Tab');
    const at = await page.evaluate(() => {
      const one = document.activeElement;
      if (!one || one === document.body) return undefined;
      const all = [...document.querySelectorAll('*')];
      return { number: all.indexOf(one), outline: getComputedStyle(one).outlineStyle, name: one.outerHTML.slice(0, 80) };
    });
    if (!at) continue;
    reached.add(at.number);
    if (at.outline === 'none') wrong.push(`no focus is seen on ${at.name}`);
  }
  if (reached.size < controls) wrong.push(`by keyboard ${reached.size} of ${controls} controls are reached`);
  return controls;
}

/** Looking back shows what was, says so, and comes back. */
async function replay(page) {
  await page.getByRole('button', { name: 'Look back' }).click();
  const slider = page.getByRole('slider', { name: /Look back/ });
  await slider.focus();
  await page.keyboard.press('Home');
  await page.getByText('What you see is what was shown').waitFor({ timeout: 5000 });
  await shot(page, 'replay');
  await page.getByRole('button', { name: 'Back to now' }).click();
  await page.getByText('What you see is what was shown').waitFor({ state: 'detached', timeout: 5000 });
}

const wide = await open(browser, url, { colorScheme: 'light' });
await wide.waitForTimeout(1500);
await views(wide);
const passed = await accessible(wide, 'light');
await shot(wide, 'light');
if (folder) await wide.screenshot({ path: `${folder}/${kind}-whole.png`, fullPage: true });
const controls = await byKeyboard(wide);
await replay(wide);

const dark = await open(browser, url, { colorScheme: 'dark', reducedMotion: 'reduce' });
await dark.waitForTimeout(1000);
await accessible(dark, 'dark');
await shot(dark, 'dark');

const phone = await open(browser, url, { viewport: { width: 360, height: 740 } });
await phone.waitForTimeout(1000);
const width = await phone.evaluate(() => document.documentElement.scrollWidth);
if (width > 360) wrong.push(`360 px wide: the page is ${width} px`);
await accessible(phone, 'phone');
await shot(phone, 'phone');

await browser.close();
tell({ event: 'views', kind, views: expected.length, controls, passed, wrong });
process.exit(wrong.length > 0 ? 1 : 0);
