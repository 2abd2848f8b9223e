import { type HostTargetOptions, whyUnmanaged } from '../host-options.ts';

/** Why the agent leaves the system of this host alone, or undefined if it does not. */
export const whyNoRauc = (options: HostTargetOptions): string | undefined =>
  whyUnmanaged(options) ?? (options.isRoot ? undefined : 'not root');
