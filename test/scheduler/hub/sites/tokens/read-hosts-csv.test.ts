import { describe, expect, it } from 'vitest';
import { readHostsCsv } from '../../../../../scheduler/hub/sites/tokens/read-hosts-csv.ts';

const read = (text: string) => readHostsCsv(text, 'hosts.csv');
const HEAD = 'site,name,channel,match,label.ring\n';

describe('a CSV of hosts', () => {
  it('has a host a line, with facts it is known by and labels', () => {
    expect(
      read(
        `${HEAD}plant-7,press-1,prod/press,serial=PX-1 mac=02:00:00:00:00:01,canary\n\nplant-7,press-2,prod/press,,\n`,
      ),
    ).toEqual([
      {
        site: 'plant-7',
        agent: 'press-1',
        channel: { environment: 'prod', clusterType: 'press' },
        match: { serial: 'PX-1', mac: '02:00:00:00:00:01' },
        labels: { ring: 'canary' },
        line: 2,
      },
      {
        site: 'plant-7',
        agent: 'press-2',
        channel: { environment: 'prod', clusterType: 'press' },
        match: { hostname: 'press-2' },
        labels: undefined,
        line: 4,
      },
    ]);
  });

  it('is read as spreadsheets write it: semicolons, a byte order mark, and line ends of Windows', () => {
    expect(read('\uFEFFname;site;channel\r\npress-1;plant-7;prod/press\r\n')).toMatchObject([
      { site: 'plant-7', agent: 'press-1', line: 2 },
    ]);
  });

  it.each([
    ['site,name\n', 'the header has no column channel', 1],
    ['site,name,channel,serial\n', 'there is no column "serial"', 1],
    ['site,name,channel\n', 'there is no host in the file', 1],
    ['site,name,channel\nplant-7,Press,prod/press\n', 'Press', 2],
    ['site,name,channel\nplant-7,press-1,press\n', 'press', 2],
    ['site,name,channel\nplant-7,press-1\n', '2 fields, and the header has 3', 2],
    ['site,name,channel\nplant-7,"press-1",prod/press\n', 'quoted fields are not read', 2],
    [`${HEAD}plant-7,press-1,prod/press,PX-1,\n`, '"PX-1" is not <fact>=<value>', 2],
    [
      'site,name,channel\nplant-7,press-1,prod/press\nplant-7,press-1,prod/press\n',
      'plant-7/press-1 is in line 2 already',
      3,
    ],
    [`${HEAD}p,a,prod/x,serial=1,\np,b,prod/x,serial=1,\n`, '{"serial":"1"} is in line 2 already', 3],
  ])('%j is refused: %s, line %d', (text, message, line) => {
    expect(() => read(text)).toThrow(
      expect.objectContaining({
        message: expect.stringContaining(message) as string,
        at: expect.objectContaining({ line }) as unknown,
      }) as Error,
    );
  });
});
