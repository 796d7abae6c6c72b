// A stream that breaks and comes back: the page says that it is old, and then that it is not. The test that
// starts this pulls the cable when it reads "quiet", and plugs it in again when it reads "stale".
//
//   node tests/stale.mjs URL

import { open, start, tell, wrong } from './browser.mjs';

const [url] = process.argv.slice(2);
const browser = await start();
const page = await open(browser, url);
tell({ event: 'open' });
// For twenty seconds nothing changes. The server says now and then that it is there.
await page.waitForTimeout(20_000);
if (await page.getByText('Nothing has been heard').count()) wrong.push('what is quiet is called old');
tell({ event: 'quiet' });
await page.getByText('Nothing has been heard from the program for 15 seconds').waitFor({ timeout: 60_000 });
tell({ event: 'stale' });
await page.getByText('Nothing has been heard').waitFor({ state: 'detached', timeout: 60_000 });
await page.getByText('13 nodes up').waitFor({ timeout: 10_000 });
tell({ event: 'back' });
await browser.close();
// While the server was away the browser logged that it was: nothing else may be wrong.
process.exit(wrong.filter((one) => !one.includes('ERR_')).length > 0 ? 1 : 0);
