import type { Adopt } from './model.ts';

/** Rules for the takeover of existing objects, the strictest first. */
export const ADOPTS = ['never', 'ifUnowned', 'ifEqual', 'always'] as const satisfies readonly Adopt[];
