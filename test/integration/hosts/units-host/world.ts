import { afterAll, beforeAll } from 'vitest';
import type { HostUnit } from '../../../../bundles/formats/bundle/host-package.ts';
import type { Drift } from '../../../../agent/model/target.ts';
import { askOnHost, DAEMON_BINDS } from '../../../agent/apply/host/restricted-daemon.ts';
import type { PackageSpec } from '../../../agent/apply/host/sandbox.ts';
import { startFactoryHost } from '../../../harness/hosts/factory-host.ts';

export const SYSTEM = '/etc/systemd/system';

export const unit = (name: string, more: Partial<HostUnit> = {}): HostUnit => ({
  name,
  enabled: true,
  active: true,
  restartOn: [],
  ...more,
});
export const off = (name: string): HostUnit => unit(name, { enabled: false, active: false });

type UnitsHost = Awaited<ReturnType<typeof startUnitsHost>>;

/** A booted host, and what the host target does with units there. */
const startUnitsHost = async (name: string, base: string) => {
  const host = await startFactoryHost(name, { base, binds: DAEMON_BINDS });
  const ask = askOnHost(host);
  const sh = (script: string): Promise<string> => host.sh(script);
  const observe = (spec: PackageSpec) => ask({ verb: 'observe', spec }) as Promise<readonly Drift[]>;
  return {
    host,
    sh,
    apply: (spec: PackageSpec | null) => ask({ verb: 'apply', spec }) as Promise<readonly string[]>,
    observe,
    /** 'drop-in /path', with '!' for what a correction leaves in place. */
    drifts: async (spec: PackageSpec): Promise<readonly string[]> =>
      (await observe(spec)).flatMap(({ key, what, stays }) =>
        // Where systemd happens to notice.
        what === 'needs-reload' ? [] : `${what} ${key.slice(key.indexOf(':') + 1)}${stays ? ' !' : ''}`,
      ),
    put: (path: string, text: string) =>
      sh(`mkdir -p "$(dirname '${path}')" && printf '%b' '${text.replaceAll('\n', '\\n')}' > '${path}'`),
    /** The lines BY=... in the environment of a unit's process. */
    environment: (name: string) =>
      sh(`tr '\\0' '\\n' < /proc/$(systemctl show -P MainPID ${name})/environ | grep BY= || true`),
    invocation: (name: string) => sh(`systemctl show -P InvocationID ${name}`),
    /** What a server on the loopback says first. */
    said: (port: number): Promise<string> =>
      sh(
        `python3 -c "import socket; s=socket.create_connection(('127.0.0.1', ${port}), 5); s.settimeout(5); print(s.recv(64).decode().strip())" 2>&1 | tail -n 1`,
      ),
  };
};

/** Starts such a host for the tests of this describe, and removes it after them. */
export const useUnitsHost = (name: string, base: string): Omit<UnitsHost, 'host'> => {
  let world: UnitsHost;
  beforeAll(async () => {
    world = await startUnitsHost(name, base);
  });
  afterAll(() => world?.host.remove());
  return {
    sh: (script) => world.sh(script),
    apply: (spec) => world.apply(spec),
    observe: (spec) => world.observe(spec),
    drifts: (spec) => world.drifts(spec),
    put: (path, text) => world.put(path, text),
    environment: (unitName) => world.environment(unitName),
    invocation: (unitName) => world.invocation(unitName),
    said: (port) => world.said(port),
  };
};
