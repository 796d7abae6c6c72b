// A browser without a window, that may speak with the page's server and nobody else.

import { existsSync } from 'node:fs';
import { chromium } from 'playwright-core';

export const PROGRAM = process.env.CHROMIUM ?? '/usr/bin/chromium';

/** What a page did that it must not do. */
export const wrong = [];

export async function start() {
  if (!existsSync(PROGRAM)) {
    console.log(JSON.stringify({ event: 'skipped', why: `there is no ${PROGRAM}` }));
    process.exit(0);
  }
  // A new empty profile each time.
  return chromium.launch({
    executablePath: PROGRAM,
    args: [
      '--headless',
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
}

/** A page of its own; errors, and requests to anybody else, are kept as wrong. */
export async function open(browser, url, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1200, height: 900 }, ...options });
  const page = await context.newPage();
  page.on('console', (message) => {
    if (message.type() === 'error') wrong.push(`console: ${message.text()}`);
  });
  page.on('pageerror', (error) => wrong.push(`error: ${error.message}`));
  // The network is cut: nothing but the page's own server answers.
  await context.route('**/*', (route) => {
    const asked = route.request().url();
    if (asked.startsWith(url) || asked.startsWith('data:')) return route.continue();
    wrong.push(`asks for ${asked}`);
    return route.abort();
  });
  await page.goto(url, { waitUntil: 'domcontentloaded' });
  await page.waitForSelector('section');
  return page;
}

export const tell = (line) => console.log(JSON.stringify(line));
