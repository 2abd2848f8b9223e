/** Whether this is `npm run test:long`: all runs of each property, all kills and moments, and cases on more than one kind of cluster. */
export const LONG = process.env['FLEET_LONG'] === '1';

/** How many cases a property makes: one of `share` of `full`, and all of them in a long run. */
export const runs = (full: number, share = 10): number => (LONG ? full : Math.ceil(full / share));

/** Whether the case at `index` (from 0) is tried: one of `share`, and all of them in a long run. */
export const isTried = (index: number, share = 3): boolean => LONG || index % share === 0;
