import type { Program } from '#cli/load-config';

/** Name, description and verbs of fleet-export. */
export const PROGRAM: Omit<Program, 'commands'> = {
  name: 'fleet-export',
  description:
    'Fills media for disconnected sites with exactly the content that each site needs, verified before and after.',
};
