// Values that Vite writes into the bundle.
interface ImportMetaEnv {
  /** Another server of the family the console talks to; empty = same origin (requirements B7). */
  readonly VITE_SERVER?: string;
}

/** Version of package.json at build time, e.g. "1.0.0". */
declare const __APP_VERSION__: string;

/** The language that this build is in. */
declare const __LANGUAGE__: "zh" | "en";

/** The newest entry of CHANGELOG.md at build time: what this version brought. */
declare const __RELEASE_NOTES__: string;
