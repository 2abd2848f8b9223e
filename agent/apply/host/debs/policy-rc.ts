import { readFile, rm, writeFile } from 'node:fs/promises';
import { hostError } from '../host-error.ts';

/** Where invoke-rc.d and deb-systemd-invoke ask whether they may start a service (invoke-rc.d(8)). */
const POLICY = '/usr/sbin/policy-rc.d';
/** 101: the action is forbidden by policy. */
const DENY = '#!/bin/sh\n# Written by fleet-agent for one step.\nexit 101\n';

/**
 * Runs work while maintainer scripts neither start nor stop services. A policy of the administrator is left in force; one that a
 * power cut left behind is removed afterwards.
 */
export const withoutServices = async <T>(work: () => Promise<T>): Promise<T> => {
  try {
    await writeFile(POLICY, DENY, { flag: 'wx', mode: 0o755 });
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST'))
      throw hostError(error, `writing ${POLICY}`);
  }
  try {
    return await work();
  } finally {
    if ((await readFile(POLICY, 'utf8').catch(() => '')) === DENY) await rm(POLICY, { force: true });
  }
};
