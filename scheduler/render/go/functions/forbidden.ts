/**
 * Functions of sprig and Helm that templates may not call, by reason. They read something outside the template, so that the
 * same input would not give the same bytes; or they would disclose secrets (behaviour spec 5, weakness 10); or they handle
 * keys.
 */
const FORBIDDEN: Readonly<Record<string, readonly string[]>> = {
  'templates cannot read the environment': ['env', 'expandenv'],
  'templates cannot read the clock': ['ago', 'now'],
  'templates cannot read random numbers or keys': [
    'bcrypt',
    'buildCustomCert',
    'genCA',
    'genCAWithKey',
    'genPrivateKey',
    'genSelfSignedCert',
    'genSelfSignedCertWithKey',
    'genSignedCert',
    'genSignedCertWithKey',
    'encryptAES',
    'htpasswd',
    'randAlpha',
    'randAlphaNum',
    'randAscii',
    'randBytes',
    'randInt',
    'randNumeric',
    'shuffle',
    'uuidv4',
  ],
  'a secret does not belong into a template or its output': ['decryptAES', 'derivePassword'],
  'templates cannot read the network': ['getHostByName'],
  'templates have no functions as values': ['call'],
};

const REASONS = new Map(
  Object.entries(FORBIDDEN).flatMap(([why, names]) => names.map((name) => [name, why] as const)),
);

export const FORBIDDEN_NAMES: readonly string[] = [...REASONS.keys()].toSorted();

/** Why a function is forbidden; undefined for any other name. */
export const forbiddenReason = (name: string): string | undefined => REASONS.get(name);
