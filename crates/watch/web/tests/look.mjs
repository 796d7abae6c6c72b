// Opens a live page in a browser without a window, checks it, and saves pictures of it.
//
//   node tests/look.mjs URL FOLDER [WORD]...
//
// Fails when the page logs an error, asks another host for anything, is wider than a phone of 360 px, or
// does not show every WORD within ten seconds.

import { chromium } from 'playwright-core';

const [url, folder, ...words] = process.argv.slice(2);
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu'],
});
const wrong = [];

async function open(options) {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  page.on('console', (message) => {
    if (message.type() === 'error') wrong.push(`console: ${message.text()}`);
  });
  page.on('pageerror', (error) => wrong.push(`error: ${error.message}`));
  page.on('request', (request) => {
    const asked = request.url();
    if (!asked.startsWith(url) && !asked.startsWith('data:')) wrong.push(`asks for ${asked}`);
  });
  await page.goto(url, { waitUntil: 'domcontentloaded' });
  await page.waitForSelector('section');
  return page;
}

async function shows(page, word) {
  try {
    await page.getByText(word).first().waitFor({ timeout: 10_000 });
  } catch {
    wrong.push(`does not show '${word}'`);
  }
}

const wide = await open({ viewport: { width: 1200, height: 900 }, colorScheme: 'light' });
for (const word of words) await shows(wide, word);
await wide.screenshot({ path: `${folder}/page-light.png` });

// By keyboard alone: the first stops are the table's own controls, and each shows that it has the focus.
await wide.keyboard.press('Tab');
const first = await wide.evaluate(() => {
  const at = document.activeElement;
  return at && at !== document.body ? getComputedStyle(at).outlineStyle : 'nothing has the focus';
});
if (first !== 'solid') wrong.push(`focus: ${first}`);

// What has no name for a screen reader.
const nameless = await wide.evaluate(() => {
  const all = [...document.querySelectorAll('input, select, button, progress, section')];
  const named = (one) =>
    one.getAttribute('aria-label') || one.getAttribute('aria-labelledby') || one.closest('label');
  return all.filter((one) => !named(one)).map((one) => one.outerHTML.slice(0, 80));
});
nameless.forEach((one) => wrong.push(`no name: ${one}`));

const dark = await open({ viewport: { width: 1200, height: 900 }, colorScheme: 'dark' });
await dark.waitForTimeout(500);
await dark.screenshot({ path: `${folder}/page-dark.png` });

const phone = await open({ viewport: { width: 360, height: 740 }, colorScheme: 'light' });
await phone.waitForTimeout(500);
const width = await phone.evaluate(() => document.documentElement.scrollWidth);
if (width > 360) wrong.push(`360 px wide: the page is ${width} px`);
await phone.screenshot({ path: `${folder}/page-phone.png` });

await browser.close();
if (wrong.length > 0) {
  console.error(wrong.join('\n'));
  process.exit(1);
}
console.log(`${words.length} words found, nothing wrong`);
