import type { Program } from '#cli/load-config';

/** Name, description and verbs of fleet-agent, from source and as one file. */
export const PROGRAM: Omit<Program, 'commands'> = {
  name: 'fleet-agent',
  description: 'Verifies, applies and observes the releases of the platform team on this cluster or host.',
  topics: { reports: { description: 'Carry events to the office on a medium' } },
};
