import { isIP } from 'node:net';
import { FleetError } from '#bundles/errors';

export type ListenAddress = { readonly host: string; readonly port: number };

export const DEFAULT_LISTEN = '0.0.0.0:8443';

const ADDRESS = /^(?:\[([0-9A-Fa-f:.]+(?:%[\w.~-]+)?)\]|([^:\s/]+)):(\d{1,5})$/;

/** Parses '127.0.0.1:8443', '[::]:8443' or 'localhost:0'; port 0 is any free port. @throws FleetError USAGE */
export const parseListen = (text: string): ListenAddress => {
  const [, six, name, port] = ADDRESS.exec(text) ?? [];
  const host = six ?? name;
  if (host !== undefined && Number(port) <= 65_535) return { host, port: Number(port) };
  throw new FleetError('USAGE', `${JSON.stringify(text.slice(0, 80))} is not <host>:<port>`, {
    hint: 'Write it like 0.0.0.0:8443 or [::]:8443',
  });
};

const EVERYWHERE: ReadonlySet<string> = new Set(['0.0.0.0', '::']);

/** Default names in the hub's certificate: the listen address, the machine's host name and the loopback names. */
export const defaultHostnames = ({ host }: ListenAddress, machine: string): readonly string[] => {
  const names = [
    ...(EVERYWHERE.has(host) ? [] : [host]),
    machine.toLowerCase(),
    'localhost',
    '127.0.0.1',
    '::1',
  ];
  return [...new Set(names)].filter(
    (name) => isIP(name) > 0 || /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/.test(name),
  );
};
