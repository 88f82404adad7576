// Requests to the program, one after the other, so that each one knows what the last one brought.

let last = Promise.resolve();
let waiting = 0;

export class Fault extends Error {
  constructor(message, status, content = null) {
    super(message);
    this.status = status;
    this.content = content; // of the program's answer
  }
}

async function answer(response) {
  let content = {};
  try {
    content = await response.json();
  } catch {
    // Refusals of requests are plain text.
  }
  if (!response.ok) throw new Fault(content.fault || `The program refused this (${response.status}).`, response.status, content);
  return content;
}

export async function get(path, parameters = {}) {
  let response;
  try {
    response = await fetch(`${path}?${new URLSearchParams(parameters)}`, { cache: "no-store" });
  } catch {
    throw new Fault("The program does not answer. Is it still running? What was confirmed is safe.", 0);
  }
  return answer(response);
}

export async function post(path, content = {}) {
  let response;
  try {
    response = await fetch(path, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(content),
    });
  } catch {
    throw new Fault("The program does not answer: this was not saved. Is it still running?", 0);
  }
  return answer(response);
}

// Runs a task after those before it. Tells it whether others wait behind it.
export function queued(task) {
  waiting += 1;
  const run = last.then(() => task(() => waiting > 1)).finally(() => { waiting -= 1; });
  last = run.catch(() => {});
  return run;
}
