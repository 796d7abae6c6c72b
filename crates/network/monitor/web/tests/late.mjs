// Opens a live page, and tells when each alert appears on it. A line on standard input ends it: it takes a
// picture then.
//
//   node tests/late.mjs URL PICTURE.png

import { once } from 'node:events';
import { open, start, tell, wrong } from './browser.mjs';

const [url, picture] = process.argv.slice(2);
const browser = await start();
const page = await open(browser, url, { colorScheme: 'light' });
await page.exposeFunction('tellAlert', (at, text) => tell({ event: 'alert', at: at / 1000, text }));
await page.evaluate(() => {
  const seen = new Set();
  const look = () => {
    for (const one of document.querySelectorAll('.alerts strong')) {
      // A number within a sentence changes: the alert is the same.
      const text = one.textContent.trim();
      const key = text.replace(/[0-9.]+ %/g, '').replace(/ran over.*/, '');
      if (seen.has(key)) continue;
      seen.add(key);
      window.tellAlert(Date.now(), text);
    }
  };
  new MutationObserver(look).observe(document.body, { childList: true, subtree: true, characterData: true });
  look();
});
tell({ event: 'open' });
await once(process.stdin, 'data');
await page.screenshot({ path: picture });
tell({ event: 'picture', wrong });
await browser.close();
process.exit(wrong.length > 0 ? 1 : 0);
