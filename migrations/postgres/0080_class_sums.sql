-- The clicks of a link, and of all links of an account, by class: of whole days, and of the quarters before and after them. Where
-- there are none from the end of the range to the end of its day, the day's sums are those of its quarters, and fewer.
-- One link's rows lie among those of others, in the order of time at best. A look-up of each by the index took twice as long
-- as a bitmap, which reads each page once; the planner expects few rows and would not choose it by itself.
CREATE FUNCTION link_class_sums(
    of_link bigint, days_from integer, days_to integer, before_from integer, before_to integer, after_from integer, after_to integer)
RETURNS TABLE (class integer, sum bigint) LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT SET enable_seqscan = off SET enable_indexscan = off AS $$
DECLARE
    is_whole boolean := after_from < after_to AND NOT EXISTS (
        SELECT FROM link_details WHERE link_id = of_link AND at >= after_to AND at < after_from::bigint + 96);
BEGIN
    IF is_whole THEN
        days_to := after_from + 1;
        after_from := after_to;
    END IF;
    RETURN QUERY SELECT parts.class_id, sum(parts.clicks)::bigint FROM (
        SELECT class_id, clicks FROM link_detail_days WHERE link_id = of_link AND at >= days_from AND at < days_to
        UNION ALL
        SELECT class_id, clicks FROM link_details WHERE link_id = of_link AND at >= before_from AND at < before_to
        UNION ALL
        SELECT class_id, clicks FROM link_details WHERE link_id = of_link AND at >= after_from AND at < after_to
    ) AS parts GROUP BY parts.class_id;
END
$$;

CREATE FUNCTION owner_class_sums(
    of_owner bigint, days_from integer, days_to integer, before_from integer, before_to integer, after_from integer, after_to integer)
RETURNS TABLE (class integer, sum bigint) LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT SET enable_seqscan = off SET enable_indexscan = off AS $$
DECLARE
    is_whole boolean := after_from < after_to AND NOT EXISTS (
        SELECT FROM owner_details WHERE owner_id = of_owner AND at >= after_to AND at < after_from::bigint + 96);
BEGIN
    IF is_whole THEN
        days_to := after_from + 1;
        after_from := after_to;
    END IF;
    RETURN QUERY SELECT parts.class_id, sum(parts.clicks)::bigint FROM (
        SELECT class_id, clicks FROM owner_detail_days WHERE owner_id = of_owner AND at >= days_from AND at < days_to
        UNION ALL
        SELECT class_id, clicks FROM owner_details WHERE owner_id = of_owner AND at >= before_from AND at < before_to
        UNION ALL
        SELECT class_id, clicks FROM owner_details WHERE owner_id = of_owner AND at >= after_from AND at < after_to
    ) AS parts GROUP BY parts.class_id;
END
$$;
