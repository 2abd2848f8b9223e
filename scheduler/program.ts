import type { Program } from '#cli/load-config';

/** How fleet-scheduler presents itself. */
export const PROGRAM: Omit<Program, 'commands'> = {
  name: 'fleet-scheduler',
  description: 'Turns a platform repository into signed bundles, and shows what runs where.',
  topics: {
    approvals: { description: 'Bundles that wait for a second signature' },
    keys: { description: 'Keys that sign' },
    reports: { description: 'What sites sent home' },
    root: { description: 'The trust root of a fleet' },
    sites: { description: 'Sites and their agents' },
    tokens: { description: 'What lets an agent enrol or a monitor read' },
  },
};
