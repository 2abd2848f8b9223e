/**
 * Functions of sprig that read something outside the template, so that the same input would not give the same bytes, or
 * would give away secrets (behaviour spec 5, weakness 10). Calling one is TEMPLATE_FAILED.
 */
const FORBIDDEN: Readonly<Record<string, readonly string[]>> = {
  'the environment': ['env', 'expandenv'],
  'the clock': [
    'ago',
    'date',
    'dateInZone',
    'dateModify',
    'date_in_zone',
    'date_modify',
    'duration',
    'durationRound',
    'htmlDate',
    'htmlDateInZone',
    'mustDateModify',
    'mustToDate',
    'must_date_modify',
    'now',
    'toDate',
    'unixEpoch',
  ],
  'random numbers or keys': [
    'bcrypt',
    'buildCustomCert',
    'decryptAES',
    'derivePassword',
    'encryptAES',
    'genCA',
    'genCAWithKey',
    'genPrivateKey',
    'genSelfSignedCert',
    'genSelfSignedCertWithKey',
    'genSignedCert',
    'genSignedCertWithKey',
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
  'the network': ['getHostByName'],
};

const REASONS = new Map(
  Object.entries(FORBIDDEN).flatMap(([what, names]) => names.map((name) => [name, what] as const)),
);

/** What a forbidden function would read, or undefined for any other name. */
export const forbiddenSource = (name: string): string | undefined => REASONS.get(name);
