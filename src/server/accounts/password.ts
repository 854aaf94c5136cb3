// The rules for passwords, and the default password. Pure.
import { isListed } from "./common-passwords.ts";

/** The documented first password of a server that only its own machine can reach (requirements J2). */
export const DEFAULT_PASSWORD = "123456";

/** Common passwords that the published lists, which are mostly western, miss. */
const COMMON = new Set(
  `password password1 password12 password123 password1234 passw0rd p@ssw0rd p@ssword pass1234 qwertyuiop qwerty123 qwerty1234
  qwerty12345 qwertyui 1q2w3e4r 1q2w3e4r5t 1qaz2wsx 1qazxsw2 zaq12wsx q1w2e3r4 q1w2e3r4t5 qazwsxedc zxcvbnm1 zxcvbnm123 asdfghjkl
  asdf1234 asdfasdf iloveyou iloveyou1 sunshine princess football baseball basketball superman batman123 trustno1 letmein1
  welcome1 welcome123 admin123 admin1234 administrator root1234 rootroot master123 dragon123 monkey123 shadow123 michael1
  jennifer jordan23 whatever computer internet samsung1 starwars pokemon1 liverpool chelsea1 arsenal1 barcelona manchester
  charlie1 abcd1234 abc12345 abcdefgh abcdefg1 a1b2c3d4 aa123456 aaa12345 a1234567 a12345678 a123456789 123456ab 123456abc 1234abcd
  1234qwer 123qweasd 123qwe123 qwe123456 qwe12345 asd123456 zxc123456 q1234567 w1234567 test1234 testtest temp1234 changeme
  changeme1 default1 secret123 google123 facebook1 linkedin1 woaini520 woaini1314 woaini123 woaini521 5201314520 1314520520
  520131400 iloveyou520 wang1234 zhang123 li123456 wang123456 zhang123456 chen123456 liu123456 88888888a 147258369 159357456
  741852963 789456123 159753456 110110110 112233445 11223344 12341234 12121212 123123123 123321123 1234554321 12344321 87654321
  987654321 9876543210 69696969 13131313 10203040 01234567 password! qwerty1! abc123456 abcabc123 tollgate1 oneapi123`.split(
    /\s+/,
  ),
);

const RUNS = "01234567890 abcdefghijklmnopqrstuvwxyz qwertyuiop asdfghjkl zxcvbnm";

function isRun(text: string): boolean {
  const backwards = [...text].reverse().join("");
  return RUNS.includes(text) || RUNS.includes(backwards);
}

/**
 * Whether a password is easily guessed: a common one, one character or a short piece repeated, a run
 * of the keyboard, a date, or the name of the account or the product (requirements A08).
 */
export function isTooCommon(password: string, names: readonly string[]): boolean {
  const text = password.toLowerCase();
  if (COMMON.has(text) || isListed(text) || isRun(text)) return true;
  if (/^(.{1,4})\1+$/.test(text)) return true;
  if (/^(19|20)\d{2}(0\d|1[0-2])([0-2]\d|3[01])$/.test(text)) return true;
  return names.some(
    (name) => name.length >= 4 && text.startsWith(name.toLowerCase()) && text.length - name.length <= 4,
  );
}
