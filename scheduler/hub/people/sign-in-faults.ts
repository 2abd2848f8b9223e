/** Why a sign-in ended without a session: the page shows these sentences, and takes only their names from its address. */
export const SIGN_IN_FAULTS = {
  unreachable:
    'The sign-in provider does not answer. Sessions that are open and tokens keep working. Try again later, or ask the office for a break-glass code.',
  clock:
    'The clocks of the hub and of the sign-in provider differ too much. Ask the office to compare both with the time.',
  refused:
    'The answer of the sign-in provider is not valid for this hub. Start again; if it stays so, the log of the hub says what was wrong.',
  'not-started':
    'This sign-in was not started in this browser, took longer than ten minutes, or was finished before. Start again.',
  ended: 'Your session has ended. Sign in again.',
  denied: 'The sign-in provider did not sign you in.',
  'no-person':
    'The sign-in provider did not say who you are, or has not verified your address. Ask its administrator.',
  'no-role': 'You are known, but have no role at this hub. Ask an admin of the hub for one.',
} as const;

export type SignInFault = keyof typeof SIGN_IN_FAULTS;

export const isSignInFault = (text: string | null): text is SignInFault =>
  text !== null && Object.hasOwn(SIGN_IN_FAULTS, text);
