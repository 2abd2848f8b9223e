import type { Program } from '#cli/load-config';

/** How fleet-scheduler presents itself. */
export const PROGRAM: Omit<Program, 'commands'> = {
  name: 'fleet-scheduler',
  description: 'Turns a platform repository into signed bundles, and shows what runs where.',
  names: async (name, line) => (await import('./commands/complete-names.ts')).completeNames(name, line),
  topics: {
    add: { description: 'New objects in the platform repository' },
    approvals: { description: 'Bundles that wait for a second signature' },
    audit: { description: 'The signed log of promotions, approvals, decisions and changes' },
    images: { description: 'Images and charts, locked to digests' },
    import: { description: 'Platforms of other tools' },
    keys: { description: 'Keys that sign' },
    lease: { description: 'Statements that a release is still the current one' },
    media: { description: 'Media that are on their way to sites' },
    releases: { description: 'Releases of channels, in the layout' },
    reports: { description: 'Reports from sites' },
    rollout: { description: 'Releases that reach their agents in stages' },
    root: { description: 'The trust root of a fleet' },
    secrets: { description: 'Secret sets, sealed to the agents that may read them' },
    sites: { description: 'Sites and their agents' },
    sessions: { description: "People who are signed in at the hub's page" },
    tokens: { description: 'Tokens with which an agent enrols, a monitor reads, or a pipeline decides' },
  },
};
