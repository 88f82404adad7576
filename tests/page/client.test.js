import assert from "node:assert/strict";
import { test } from "node:test";
import { get, post } from "../../dynet_vdgi/page/static/client.js";

/** What the page says if its requests are answered so. @param {() => Promise<Response>} answer */
async function said(answer) {
  globalThis.fetch = answer;
  const faults = [];
  for (const ask of [() => get("state"), () => post("change")]) {
    await assert.rejects(ask, (fault) => Boolean(faults.push(fault)));
  }
  return faults;
}

const json = (content, status) => async () => new Response(JSON.stringify(content), { status });
const text = (content, status) => async () => new Response(content, { status });

test("where nothing answers, the page says where the program may be now, and what is safe", async () => {
  const silent = async () => { throw new TypeError("Failed to fetch"); };
  for (const answer of [silent, text("<h1>Bad Gateway</h1>", 502)]) {
    const [asked, changed] = await said(answer);
    assert.match(asked.message, /does not answer here any more. If it was started again, open the address that it printed/);
    assert.match(asked.message, /What was confirmed is safe\.$/);
    assert.match(changed.message, /open the address that it printed in the terminal.*Note: this was not saved\.$/);
    assert.equal(asked.status, 0);
  }
});

test("where something else answers, the page says that it is of an earlier start", async () => {
  const later = json({ fault: "no such page; if the program was started again, open the address" }, 404);
  for (const answer of [later, text("<h1>Not Found</h1>", 404), text("forbidden", 403), text("<p>another page", 200)]) {
    const [asked, changed] = await said(answer);
    assert.match(asked.message, /^This page is of an earlier start of the program.*open the address that it printed/);
    assert.match(changed.message, /Note: this was not saved\.$/);
  }
});

test("the program's own faults are said as they are", async () => {
  const [asked] = await said(json({ fault: "another page may not ask", unknown: true }, 403));
  assert.deepEqual([asked.message, asked.status, asked.content.unknown], ["another page may not ask", 403, true]);
  assert.equal((await said(text("Internal Server Error", 500)))[0].message, "The program refused this (500).");
  globalThis.fetch = json({ next: 3 }, 200);
  assert.deepEqual(await get("next"), { next: 3 });
});
