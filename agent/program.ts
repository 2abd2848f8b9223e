import type { Program } from '#cli/load-config';

/** How fleet-agent presents itself, from source and as one file. */
export const PROGRAM: Omit<Program, 'commands'> = {
  name: 'fleet-agent',
  description: 'Verifies, applies and watches what the platform team released for this cluster or host.',
  topics: { reports: { description: 'Carry the history home' } },
};
