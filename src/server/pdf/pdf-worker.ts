// The thread that makes one PDF document and ends: reading the font and choosing its glyphs takes some 100 ms that no call waits for.
import { parentPort, workerData } from "node:worker_threads";
import type { PdfDocument } from "./document.ts";
import { pdfOf } from "./file.ts";
import { openFont } from "./font.ts";

// Given by pdf.ts, which alone starts this thread.
const document = workerData as PdfDocument;
parentPort?.postMessage(pdfOf(document, openFont()));
