import { fail, type Run } from '../../run.ts';
import { type Dict, describeValue, hasKey, lookup, type ValueMap } from '../values/value.ts';
import { type GoUrl, hostName, parseUrl, UrlError, urlText, userText } from '../../../model/go/go-url.ts';
import { type FunctionTable, fixed } from './template-function.ts';

/** sprig's URL functions. */

const parsed = (run: Run, text: string): GoUrl => {
  try {
    return parseUrl(text);
  } catch (error) {
    if (error instanceof UrlError) return fail(run, `this is not a URL: ${error.message}`);
    throw error;
  }
};

const urlParse = (run: Run, text: string): Dict => {
  const { scheme, host, path, query, opaque, fragment, user } = parsed(run, text);
  const parts = {
    scheme,
    host,
    hostname: hostName(host),
    path,
    query,
    opaque,
    fragment,
    userinfo: userText(user),
  };
  const map: Dict = Object.assign(Object.create(null) as Dict, parts);
  run.made.add(map);
  return map;
};

const text = (run: Run, map: Dict | ValueMap, key: string): string => {
  if (!hasKey(map, key)) return '';
  const value = lookup(map, key);
  return typeof value === 'string'
    ? value
    : fail(run, `urlJoin needs a string as ${key}, not ${describeValue(value)}`);
};

const urlJoin = (run: Run, map: Dict | ValueMap): string => {
  const part = (key: string): string => text(run, map, key);
  const userinfo = part('userinfo');
  return urlText({
    scheme: part('scheme'),
    host: part('host'),
    path: part('path'),
    query: part('query'),
    opaque: part('opaque'),
    fragment: part('fragment'),
    user: userinfo === '' ? undefined : parsed(run, `proto://${userinfo}@host`).user,
  });
};

export const URLS: FunctionTable = {
  urlParse: fixed(['string'], urlParse),
  urlJoin: fixed(['map'], urlJoin),
};
