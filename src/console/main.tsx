// Starts the console in the page.
import "#console/base/boot.ts";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { currentTheme, paintPage } from "#console/base/theme-mode.ts";
import { guardMarkup } from "#console/base/trusted-types.ts";
import { ConsoleApp } from "./app.tsx";
import "./base.css";
import "./print.css";

guardMarkup();
paintPage(currentTheme());

const root = document.getElementById("root");
if (root === null) throw new Error("index.html has no #root");
createRoot(root).render(
  <StrictMode>
    <ConsoleApp />
  </StrictMode>,
);
