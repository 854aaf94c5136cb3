// Forms that come in pieces of any size are read as the platform reads them whole.
import fc from "fast-check";
import { expect, test } from "vitest";
import { BadForm, boundaryOf, FormReader } from "./form-reader.ts";

/** A form as the platform writes it. */
async function formOf(fields: readonly (readonly [string, string])[], file: Uint8Array) {
  const form = new FormData();
  for (const [name, value] of fields) form.append(name, value);
  form.append("file", new Blob([file as BlobPart]), "a b.jsonl");
  const response = new Response(form);
  const boundary = boundaryOf(response.headers.get("content-type") ?? "") ?? "";
  return { boundary, bytes: Buffer.from(await response.arrayBuffer()) };
}

function read(boundary: string, pieces: readonly Buffer[]) {
  const reader = new FormReader(boundary);
  const data: Buffer[] = [];
  const names: string[] = [];
  for (const piece of pieces)
    for (const event of reader.push(piece)) {
      if (event.kind === "data") data.push(Buffer.from(event.bytes));
      else names.push(event.kind === "file" ? `${event.name} ${event.filename}` : "end");
    }
  return { fields: [...reader.fields], file: Buffer.concat(data), names, isDone: reader.isDone };
}

function cut(bytes: Buffer, at: readonly number[]): Buffer[] {
  const places = [
    0,
    ...at.map((place) => place % (bytes.length + 1)).toSorted((one, other) => one - other),
    bytes.length,
  ];
  return places.slice(1).map((place, index) => bytes.subarray(places[index], place));
}

test("whatever their pieces are", async () => {
  const field = fc.tuple(fc.stringMatching(/^[a-z[\]]{1,12}$/), fc.stringMatching(/^[\w -]{0,40}$/));
  // What looks like a boundary, and like the begin of one.
  const text = fc.array(fc.constantFrom("\r\n", "\r", "\n", "--", "\r\n--", "-", "x", "ä", "boundary"), {
    maxLength: 60,
  });
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(field, { maxLength: 4, selector: ([name]) => name }),
      text,
      fc.array(fc.nat(5_000), { maxLength: 40 }),
      async (fields, parts, places) => {
        const file = Buffer.from(parts.join(""));
        const { boundary, bytes } = await formOf(fields, file);
        expect(read(boundary, cut(bytes, places))).toEqual({
          fields,
          file,
          names: ["file a b.jsonl", "end"],
          isDone: true,
        });
      },
    ),
    { numRuns: 200 },
  );
});

test("a form that breaks off is not done, and one that is none is refused", async () => {
  const { boundary, bytes } = await formOf([["purpose", "batch"]], Buffer.from("{}\n"));
  expect(read(boundary, [bytes.subarray(0, -6)]).isDone).toBe(false);
  const bad = (text: string) => () => read("b", [Buffer.from(text)]);
  expect(bad("--b??")).toThrow(BadForm);
  expect(bad("--b\r\ncontent-type: x\r\n\r\n")).toThrow(BadForm);
  expect(bad(`--b\r\n${"x".repeat(20_000)}`)).toThrow(BadForm);
  expect(bad(`--b\r\ncontent-disposition: form-data; name="a"\r\n\r\n${"x".repeat(5_000)}`)).toThrow(BadForm);
  expect(boundaryOf("application/json")).toBeUndefined();
  expect(boundaryOf('multipart/form-data; charset=utf-8; boundary="a b"')).toBe("a b");
});
