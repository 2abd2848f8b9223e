import type { Program } from '#cli/load-config';

/** How fleet-export presents itself. */
export const PROGRAM: Omit<Program, 'commands'> = {
  name: 'fleet-export',
  description:
    'Fills media for disconnected sites: what each site needs and nothing else, verified before and after.',
};
