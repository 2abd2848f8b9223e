import { FleetError } from '#bundles/errors';
import { isLoopback } from '#bundles/transport/registry/http/where-to';

export type Listen = {
  /** As it is written in an address: with brackets if it is IPv6. */
  readonly host: string;
  readonly port: number;
  readonly loopback: boolean;
};

/** '127.0.0.1:5000', '[::1]:5000', 'edge.example:5000'; port 0 chooses a free port. @throws FleetError USAGE */
export const parseListen = (text: string): Listen => {
  const [, host = '', digits = ''] =
    /^(\[[0-9a-fA-F:.]+(?:%[\w.~-]+)?\]|[A-Za-z0-9.-]+):(\d{1,5})$/.exec(text) ?? [];
  const port = Number(digits);
  if (host !== '' && port <= 65_535) return { host, port, loopback: isLoopback(host) };
  throw new FleetError(
    'USAGE',
    `--listen ${JSON.stringify(text.slice(0, 80))} is not an address with a port`,
    {
      hint: 'Write it like 127.0.0.1:5000, or 0.0.0.0:5000 for every address of this machine',
    },
  );
};
