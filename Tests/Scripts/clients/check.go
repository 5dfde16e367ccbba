// What a backend does with the client that openapi-generator makes for Go: sends, waits, lists, and reads a refusal.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	pushline "example.com/team/pushline"
)

func main() {
	configuration := pushline.NewConfiguration()
	configuration.Servers[0].URL = os.Getenv("PUSHLINE_URL") + "/api/apps/default"
	client := pushline.NewAPIClient(configuration)
	ctx := context.WithValue(context.Background(), pushline.ContextAccessToken, os.Getenv("PUSHLINE_SENDER_KEY"))

	everything := pushline.NewSend(pushline.Audience{Tags: pushline.PtrString("news || !news")})
	everything.Title, everything.Label = pushline.PtrString("Sale"), pushline.PtrString("clients-go")
	everything.Data = map[string]string{"page": "7"}
	everything.Services = []pushline.Service{pushline.SERVICE_APNS, pushline.SERVICE_FCM}
	everything.Apns = &pushline.SendApns{Ttl: pushline.PtrInt32(60)}
	everything.Native = &pushline.Native{Fcm: map[string]interface{}{"message": map[string]interface{}{"data": map[string]string{"order": "7"}}}}
	job, _, err := client.SendsAPI.Send(ctx).Send(*everything).Prefer("wait=30").Execute()
	check(err == nil && job.State == pushline.JOBSTATE_COMPLETED, "the send", job, err)
	check(job.Totals.Targets > 1 && job.Totals.Open == 0, "the totals", job.Totals)

	later := pushline.Send{To: pushline.Audience{User: pushline.PtrString("bob")}, Body: pushline.PtrString("Later"), Label: everything.Label}
	started, _, err := client.SendsAPI.Send(ctx).Send(later).Execute()
	check(err == nil && started.Id != job.Id && !started.IsFinal, "the second send", started, err)
	_, _, err = client.JobsAPI.WatchJob(ctx, started.Id).Execute()
	check(err == nil, "the events", err)
	finished, _, err := client.JobsAPI.GetJob(ctx, started.Id).Execute()
	check(err == nil && finished.IsFinal, "the second job", finished, err)

	listed, _, err := client.JobsAPI.ListJobs(ctx).Label("clients-go").Limit(1).Execute()
	check(err == nil && listed.Items[0].Id == started.Id && listed.Cursor != nil, "the list", listed, err)
	following, _, err := client.JobsAPI.ListJobs(ctx).Label("clients-go").Limit(1).Cursor(*listed.Cursor).Execute()
	check(err == nil && following.Items[0].Id == job.Id, "the rest of the list", following, err)

	wrong := pushline.Send{To: later.To, Title: pushline.PtrString("t"), Link: pushline.PtrString("https://a.example/"), Data: map[string]string{"link": "x"}}
	_, response, err := client.SendsAPI.Send(ctx).Send(wrong).Execute()
	var refusal *pushline.GenericOpenAPIError
	check(errors.As(err, &refusal) && response.StatusCode == 400, "what is wrong", response, err)
	problem, known := refusal.Model().(pushline.Problem)
	check(known && problem.Errors[0].Member == "data.link", "the refusal", refusal)
	fmt.Println("done: Go")
}

func check(holds bool, what string, found ...interface{}) {
	if !holds {
		fmt.Fprintln(os.Stderr, append([]interface{}{what + " is not as it must be:"}, found...)...)
		os.Exit(1)
	}
}
