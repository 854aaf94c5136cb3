// Which names stand for secrets: of fields, headers and parameters, however they are written.

/** Names without their separators, in lower case. What merely ends like one is one too: cut rather than leak. */
const SECRET_NAME =
  /secret|passw|passphrase|authorization|cookie|credential|(?:token|key|jwt|passcode|databaseurl)s?$|^(?:pass|pwd|auth|xauth|sid|session|bearer|dsn|ak|sk|otp|assertion|signature|xamzsignature)$/;

/** Only in an address: elsewhere these are errors' codes and states of things (requirements P03). */
const SECRET_PARAMETERS = new Set(["code", "state", "email", "turnstile", "sign", "sig"]);

/** Whether a field or header of this name holds a secret. */
export function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name.toLowerCase().replace(/[-_.\s]/g, ""));
}

/** Whether a parameter of an address does: more names than elsewhere (requirements P03). */
export function isSecretParameter(name: string): boolean {
  return SECRET_PARAMETERS.has(name.toLowerCase()) || isSecretName(name);
}
