import { describe, expect, it } from 'vitest';
import { readHostsCsv } from '../../../../../scheduler/hub/sites/tokens/read-hosts-csv.ts';

const read = (text: string) => readHostsCsv(text, 'hosts.csv');
const HEAD = 'site,name,channel,match,label.ring\n';

describe('a CSV of hosts', () => {
  it('has one host per line, with its facts and labels', () => {
    expect(
      read(
        `${HEAD}plant-7,press-1,prod/press,serial=PX-1 mac=02:00:00:00:00:01,canary\n\nplant-7,press-2,prod/press,,\n`,
      ),
    ).toEqual([
      {
        site: 'plant-7',
        agent: 'press-1',
        channel: { environment: 'prod', clusterType: 'press' },
        match: { mac: '02:00:00:00:00:01', serial: 'PX-1' },
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

  it('may have semicolons, a byte order mark, and Windows line ends', () => {
    expect(read('\uFEFFname;site;channel\r\npress-1;plant-7;prod/press\r\n')).toMatchObject([
      { site: 'plant-7', agent: 'press-1', line: 2 },
    ]);
  });

  it.each([
    '02:42:ac:11:00:02',
    '02:42:AC:11:00:02',
    '02-42-AC-11-00-02',
    '2:42:ac:11:0:2',
    '0242.ac11.0002',
    '0242:ac11:0002',
    '0242ac-110002',
    '0242AC110002',
  ])('normalises the MAC address %s', (mac) => {
    expect(read(`${HEAD}p,a,prod/x,mac=${mac},\n`)).toMatchObject([{ match: { mac: '02:42:ac:11:00:02' } }]);
  });

  it.each([
    '02:42:ac:11:00',
    '02:42:ac:11:00:02:03',
    '02:42-ac:11:00:02',
    '02:42:ac:11:00:0g',
    '002:42:ac:11:00:02',
    '242.ac11.0002',
    '0242ac11002',
    '2.42E+11',
    '00:00:00:00:00:00',
    'ff:ff:ff:ff:ff:ff',
    '01:00:5e:00:00:01',
  ])('refuses %s as a MAC address, with its line', (mac) => {
    expect(() => read(`${HEAD}p,a,prod/x,mac=${mac},\n`)).toThrow(
      expect.objectContaining({
        code: 'FIELD_INVALID',
        message: expect.stringContaining(`"${mac}" is not a MAC address of a network interface`) as string,
        at: { file: 'hosts.csv', line: 2, column: 1 },
      }) as Error,
    );
  });

  it('normalises a UUID', () => {
    const uuid = '4C4C4544-0042-3510-8052-B4C04F564D32';
    for (const text of [uuid, `{${uuid}}`, uuid.replaceAll('-', '')])
      expect(read(`${HEAD}p,a,prod/x,uuid=${text},\n`)).toMatchObject([
        { match: { uuid: uuid.toLowerCase() } },
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
    [`${HEAD}p,a,prod/x,serail=1,\n`, 'no agent knows a fact "serail"', 2],
    [`${HEAD}p,a,prod/x,serial=1 serial=2,\n`, 'the line has the fact serial twice', 2],
    [`${HEAD}p,a,prod/x,uuid=4C4C4544,\n`, '"4C4C4544" is not a UUID', 2],
    [
      `${HEAD}p,a,prod/x,mac=02-42-AC-11-00-02,\np,b,prod/x,mac=0242.ac11.0002,\n`,
      '{"mac":"02:42:ac:11:00:02"} is in line 2 already',
      3,
    ],
    [`${HEAD}p,a,prod/x,serial=px1,\np,b,prod/x,serial=PX1,\n`, 'is in line 2 already', 3],
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
